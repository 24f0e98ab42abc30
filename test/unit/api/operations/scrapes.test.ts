/** What monitoring systems read, as operations: the same things, bounded. */
import test from 'ava';
import { ok } from '../../../../actors/refusal.ts';
import { catalogue } from '../../../../api/catalogue.ts';
import { EXPOSITION_TEXT_BYTES_MAX, expositionOf } from '../../../../api/exposition-text.ts';
import type { AnyOperation } from '../../../../api/operation.ts';
import { TARGETS_MAX } from '../../../../api/operations/scrapes.ts';
import { KEYS, serveApi, SOME_ID, type ServedApi } from '../../../support/api/fakes.ts';

const SOURCES = ['host', 'agent', 'wireguard'] as const;
const none = async () => {
  throw new Error('not asked');
};

async function call({ api }: ServedApi, operation: AnyOperation, input: object): Promise<unknown> {
  const result = await api.call(operation, input, {
    surface: 'mcp',
    credential: KEYS.mcp,
    address: '192.0.2.1',
    host: undefined,
    requestId: 'r',
    idempotencyKey: null,
  });
  return result.ok ? result.value : result.refusal;
}

test("the text of a short exposition is the raw route's, whole", async (t) => {
  const served = await serveApi(t, {
    ports: {
      nodeMetrics: {
        raw: async (_node, source) => ok({ text: Buffer.from(`up{a="ü"} 1\n# of ${source}\n`), gzip: null }),
        host: none,
        agent: none,
      },
    },
  });

  for (const source of SOURCES) {
    const raw = await (
      await fetch(`${served.url}/api/v1/nodes/${SOME_ID}/metrics/${source}/raw`, {
        headers: { authorization: `Bearer ${KEYS.metrics}` },
      })
    ).text();
    t.deepEqual(await call(served, catalogue[`scrape_${source}_metrics`], { node_id: SOME_ID.toUpperCase() }), {
      text: raw,
      truncated: false,
      size_bytes: Buffer.byteLength(raw),
    });
  }
  t.like(await call(served, catalogue.scrape_admin_metrics, {}), { truncated: false });
});

test('a long exposition is cut at the end of a line within the bound, and says so', (t) => {
  const line = Buffer.from('a_metric{of="ü"} 1\n');
  const count = Math.ceil(EXPOSITION_TEXT_BYTES_MAX / line.length) + 3;

  const {
    text,
    truncated,
    size_bytes: sizeBytes,
  } = expositionOf(Buffer.concat(Array.from({ length: count }, () => line)));

  t.deepEqual([truncated, sizeBytes], [true, count * line.length]);
  t.is(text, line.toString().repeat(Math.floor(EXPOSITION_TEXT_BYTES_MAX / line.length)));
  t.like(expositionOf(Buffer.alloc(EXPOSITION_TEXT_BYTES_MAX, '\n')), { truncated: false });
  t.like(expositionOf(Buffer.alloc(EXPOSITION_TEXT_BYTES_MAX + 1, 'x')), { truncated: true, text: '' });
});

test('targets are those of the discovery route, as many as fit, and the reading of more ends', async (t) => {
  let ended = 0;
  const line = (index: number) =>
    `${index}\t"one \\"cluster\\""\thealthy\t"1.0\\té"\t"n${index}"\t["é",null,"x"]\t{"a":"b"}\n`;
  const withTargets = (count: number, url: string) =>
    serveApi(t, {
      operations: { metricsBaseUrl: url },
      ports: {
        discovery: {
          async *pieces() {
            try {
              for (let index = 0; index < count; index += 50)
                yield Array.from({ length: Math.min(50, count - index) }, (_, at) => line(index + at)).join('');
            } finally {
              ended += 1;
            }
          },
        },
      },
    });

  for (const url of ['http://198.51.100.1', 'https://metrics.example.com/edge/']) {
    const served = await withTargets(TARGETS_MAX, url);
    for (const source of SOURCES) {
      const targets: unknown = await (
        await fetch(`${served.url}/api/v1/nodes/metrics/${source}/discovery`, {
          headers: { authorization: `Bearer ${KEYS.metrics}` },
        })
      ).json();
      t.deepEqual(await call(served, catalogue[`discover_${source}_metrics`], { status__in: 'healthy' }), {
        targets,
        truncated: false,
      });
    }
  }
  t.is(ended, 12);
  const { targets, truncated } = (await call(
    await withTargets(10 * TARGETS_MAX, 'http://198.51.100.1'),
    catalogue.discover_host_metrics,
    {},
  )) as { readonly targets: readonly unknown[]; readonly truncated: boolean };
  t.deepEqual([targets.length, truncated, ended], [TARGETS_MAX, true, 13]);
});
