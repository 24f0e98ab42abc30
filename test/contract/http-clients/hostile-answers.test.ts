/**
 * Every place where an answer of a server that somebody else runs comes in, against a thousand hostile ones: each ends
 * in a value or a rejection, and none ends the program.
 */
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { webSocketDial } from '../../../agent/session/dial.ts';
import { askAdmins } from '../../../agent/observability/doctor/admin-answers.ts';
import { postJson } from '../../../agent/outbound/http-exchange.ts';
import { RecordingSpool } from '../../../agent/access/ssh/recording/spool.ts';
import { beginRecording } from '../../../agent/access/ssh/recording/recorder.ts';
import { RecordingUploads } from '../../../agent/access/ssh/recording/upload.ts';
import { AgentTunnels } from '../../../agent/access/tunnel/tunnels.ts';
import { fetchMap } from '../../../transport/vpn/relay-map/map-source.ts';
import { createVet } from '../../../transport/net/outbound-guard/vetting.ts';
import type { NodeId } from '../../../transport/protocol/ids.ts';
import { AgentRequests } from '../../../transport/tunnels/agent-requests.ts';
import { createUrlAdmission } from '../../../transport/vpn/relay/url-admission.ts';
import { NetmakerRequests } from '../../../transport/vpn/netmaker/requests.ts';
import { forEachAnswer, hostileAnswers, openHostileTarget } from '../../support/net/hostile-answers.ts';
import { until } from '../../support/until.ts';
import { portsOf } from '../../unit/transport/metrics/fixture.ts';
import { DELIVERY, webhookSender, webhookTo } from '../../support/webhooks/webhook-receivers.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { silentLog } from '../../support/log.ts';

/** Exchanges at a time. */
const AT_ONCE = 25;

const TOKEN = 'a-token-of-the-tests-1234567890';

/** Asks for one answer of the corpus; resolves when it is over. */
type Ask = (url: string, index: number) => Promise<unknown>;

/** Where answers come in, by what makes the one that asks. */
const ENTRIES: Readonly<Record<string, (t: ExecutionContext) => Ask>> = {
  'a webhook receiver': (t) => {
    const sender = webhookSender(t);
    return (url, index) =>
      sender.send(webhookTo(url, { id: `01890000-0000-7000-8000-${String(index % 20).padStart(12, '0')}` }), DELIVERY);
  },
  'a server of an agent that is scraped': () => {
    const requests = new AgentRequests({
      tunnels: { reach: async (_node, { port }) => ({ ok: true, stream: connect(port, '127.0.0.1') }) },
      endpointOf: async (node) => ({ ports: portsOf(Number(node.split(' ')[0])), tokenHash: Buffer.from('hash') }),
    });
    return (url, index) =>
      requests.get(`${new URL(url).port} ${index}` as NodeId, {
        server: 'host_metrics',
        path: new URL(url).pathname,
        bytesMax: 10_000,
        msMax: 30_000,
      });
  },
  'an admission URL of a relay': () => (url) =>
    createUrlAdmission(url).admit(Buffer.alloc(32, 7).toString('base64'), '127.0.0.1'),
  'a URL of relay maps': () => (url) =>
    fetchMap(url, { vet: createVet({ allowPrivate: true, allowLoopback: true }), trusted: () => [] }),
  Netmaker: (t) => (url) => {
    const requests = new NetmakerRequests({ url, masterKey: 'a master key of the tests' }, () => 0);
    t.teardown(() => requests.close());
    return requests.ask({ method: 'GET', path: '', what: 'a test', signal: AbortSignal.timeout(200) });
  },
  'an admin that is asked to let a machine in': () => (url) => postJson(url, { some: 'body' }),
  'an admin that is asked whether it lives': () => (url) => askAdmins([url], AbortSignal.timeout(5_000)),
  'an admin that is dialled': () => (url) =>
    new Promise((resolve) => {
      webSocketDial()(url, TOKEN, { opened: () => {}, message: () => {}, closed: (_link, code) => resolve(code) });
    }),
  'an admin that a tunnel is opened to': (t) => async (url) => {
    const tunnels = new AgentTunnels({
      egress: { dial: () => Promise.reject(new Error('nobody is dialled')) },
      join: () => {},
      log: silentLog,
    });
    t.teardown(() => tunnels.close());
    tunnels.open([url], TOKEN);
    await until('its end', () => tunnels.count() === 0);
  },
};

for (const [name, open] of Object.entries(ENTRIES)) {
  test.serial(`${name}: a thousand hostile answers are values or rejections`, async (t) => {
    const answers = hostileAnswers();
    const port = await openHostileTarget(t, answers);
    const ask = open(t);
    let over = 0;

    await forEachAnswer(answers, AT_ONCE, async (index) => {
      await ask(`http://127.0.0.1:${port}/${index}`, index).catch(() => null);
      over += 1;
    });

    t.is(over, answers.length);
  });
}

test.serial(
  'an admin that takes recordings: hostile answers keep a recording or end it, and nothing else',
  async (t) => {
    const answers = hostileAnswers();
    let served = 0;
    const port = await openHostileTarget(t, answers, () => (served += 1) - 1);
    const directory = temporaryDirectory(t);
    const spool = new RecordingSpool(directory);
    const uploads = new RecordingUploads({
      spool,
      token: TOKEN,
      random: () => 0,
      log: silentLog,
      clock: {
        after(_ms, act) {
          const soon = setImmediate(act);
          return () => clearImmediate(soon);
        },
      },
    });
    t.teardown(() => uploads.close());
    let finished = 0;
    spool.onFinished = () => {
      finished += 1;
      uploads.wake();
    };
    uploads.start(`http://127.0.0.1:${port}`);

    for (let begun = 1; served < answers.length; begun += 1) {
      const recorder = beginRecording(
        { spool, settings: () => ({ mode: 'all', bytes_max: 65_536, ms_max: 60_000 }) },
        { usernameId: randomUUID(), username: 'ada', command: null, shell: '/bin/sh', terminal: null },
      );
      recorder?.end();
      await until(
        'it is taken, or given up',
        () => served >= answers.length || (finished === begun && spool.list().length === 0),
        60_000,
      );
    }

    t.true(served >= answers.length);
  },
);
