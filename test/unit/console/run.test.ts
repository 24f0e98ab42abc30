/** Running commands in the console: forms and addresses, and what the feed tells. */
import { randomUUID } from 'node:crypto';
import test from 'ava';
import * as fc from 'fast-check';
import { PREVIEWED_NODES_MAX } from '../../../actors/resources/group.ts';
import type { CommandResource } from '../../../actors/resources/command.ts';
import type { CommandMessage } from '../../../api/feeds/commands.ts';
import type { ExecutionBrief } from '../../../api/feeds/ports.ts';
import { durationMsOf, durationText } from '../../../console/run/duration.ts';
import { earlierOf } from '../../../console/run/earlier.ts';
import { runLine, runRequest } from '../../../console/run/elsewhere.ts';
import { ExecutionRows } from '../../../console/run/execution-rows.ts';
import {
  ADDRESS_CHARACTERS_MAX,
  COMMAND_NODES_MAX,
  commandOfForm,
  EMPTY_FORM,
  formOf,
  NAMED_NODES_MAX,
  searchOfForm,
  type RunForm,
} from '../../../console/run/form.ts';
import { COMMAND_TEXT_BYTES_MAX } from '../../../transport/protocol/limits.ts';

/** What an admin takes as one message. Source: maxPayload of api/trpc/sockets.ts. */
const MESSAGE_BYTES_MAX = 1_048_576;

const NOW_MS = Date.UTC(2026, 0, 15, 10);

test('a form is the same after it stood in an address, and no address says more than it does', (t) => {
  fc.assert(
    fc.property(
      fc.record({
        text: fc.string({ maxLength: 200, unit: 'grapheme' }),
        place: fc.constantFrom(...(['clusters', 'nodes', 'group', 'all', 'again'] as const)),
        word: fc.string({ maxLength: 30 }),
        onlyFailed: fc.boolean(),
        labels: fc.string({ maxLength: 30 }),
        status: fc.constantFrom(null, 'healthy' as const, 'unreachable' as const),
        timeout: fc.string({ maxLength: 10 }),
        expires: fc.string({ maxLength: 10 }),
      }),
      ({ word, ...given }) => {
        const form: RunForm = {
          ...EMPTY_FORM,
          ...given,
          onlyFailed: given.place === 'again' && given.onlyFailed,
          ...(given.place !== 'all' && { [given.place]: word }),
        };
        t.deepEqual(formOf(searchOfForm(form) ?? ''), form);
      },
    ),
  );
  t.is(searchOfForm(EMPTY_FORM), '');
  t.is(searchOfForm({ ...EMPTY_FORM, text: 'x'.repeat(ADDRESS_CHARACTERS_MAX) }), null);
  t.deepEqual(formOf('?nodes=a,b&in=nonsense&status=ill&other=1'), { ...EMPTY_FORM, place: 'nodes', nodes: 'a,b' });
});

test('what is asked of the API is what the form says, and each field that is wrong is named', (t) => {
  const form: RunForm = {
    ...EMPTY_FORM,
    text: 'uptime\r\nfree',
    clusters: ' prod, staging prod ',
    labels: ' env=prod ',
    status: 'healthy',
    timeout: '30s',
    expires: '5m',
  };

  t.deepEqual(commandOfForm(form, null, NOW_MS), {
    command: {
      command_text: 'uptime\nfree',
      targeting: {
        type: 'clusters',
        cluster_names: ['prod', 'staging'],
        labels: 'env=prod',
        node_filters: { status: 'healthy' },
      },
      timeout: 30_000,
      expired_at: '2026-01-15T10:05:00.000Z',
    },
    expiresMs: 300_000,
  });
  t.deepEqual(commandOfForm({ ...EMPTY_FORM, timeout: 'soon', expires: '0' }, null, NOW_MS), {
    wrong: ['text', 'clusters', 'timeout', 'expires'],
  });
  const tooFar: RunForm = { ...EMPTY_FORM, text: 'x', place: 'all', expires: '100000000d' };
  t.deepEqual(commandOfForm(tooFar, null, NOW_MS), { wrong: ['expires'] });
  t.false(runRequest(tooFar, null, 'https://edge.example', NOW_MS).includes('expired_at'));
  t.deepEqual(commandOfForm({ ...EMPTY_FORM, text: 'x', place: 'again', again: 'id' }, [], NOW_MS), {
    wrong: ['again'],
  });
  t.deepEqual(commandOfForm({ ...EMPTY_FORM, text: 'x', place: 'again', again: 'id' }, ['a'], NOW_MS), {
    command: { command_text: 'x', targeting: { type: 'nodes', node_ids: ['a'] } },
  });
  t.deepEqual(commandOfForm({ ...EMPTY_FORM, text: 'x', place: 'all' }, null, NOW_MS), {
    command: { command_text: 'x', targeting: { type: 'all' } },
  });
});

test('as many nodes as a command may name fit into a message with the longest script, and more are told to be too many', (t) => {
  const ids = Array.from({ length: COMMAND_NODES_MAX }, () => randomUUID());
  const form = { ...EMPTY_FORM, text: '"'.repeat(COMMAND_TEXT_BYTES_MAX), place: 'again', again: 'id' } as const;
  const named = { ...form, place: 'nodes', nodes: [...ids, 'one-more'].join(' ') } as const;

  const made = commandOfForm(form, ids, NOW_MS);
  const message = { id: 1_000, method: 'mutation', params: { path: 'create_command', input: made } };

  t.true('command' in made);
  t.true(JSON.stringify(message).length < MESSAGE_BYTES_MAX);
  t.deepEqual(commandOfForm(form, [...ids, 'one-more'], NOW_MS), { wrong: ['many'] });
  t.deepEqual(commandOfForm(named, null, NOW_MS), { wrong: ['many'] });
});

test('as many nodes stand by name as the service tells', (t) => {
  t.is(NAMED_NODES_MAX, PREVIEWED_NODES_MAX);
});

test('nodes that are named run nowhere before they are known, ids at once', (t) => {
  const [one, other] = [randomUUID(), randomUUID()];
  const form = { ...EMPTY_FORM, text: 'id', place: 'nodes', nodes: `web-1, ${one}` } as const;

  t.deepEqual(commandOfForm(form, null, NOW_MS), { wrong: ['nodes'] });
  t.like(commandOfForm(form, [other, one], NOW_MS), { command: { targeting: { node_ids: [other, one] } } });
  t.like(commandOfForm({ ...form, nodes: one }, null, NOW_MS), { command: { targeting: { node_ids: [one] } } });
  t.is(runLine(form), `edge run -n web-1,${one} -- id`);
});

test('a form is a line for a terminal, whatever somebody put into its address', (t) => {
  t.is(
    runLine({ ...EMPTY_FORM, text: "echo 'x'", clusters: 'prod,$(reboot)', status: 'healthy', timeout: '30s' }),
    `edge run -c 'prod,$(reboot)' -s healthy --timeout 30s -- 'echo '\\''x'\\'''`,
  );
  t.is(
    runLine({ ...EMPTY_FORM, text: 'id', place: 'again', again: '0193', onlyFailed: true }),
    'edge run --again 0193 --failed -- id',
  );
  t.true(
    runRequest({ ...EMPTY_FORM, text: 'id', place: 'all' }, null, 'https://edge.example', NOW_MS).includes(
      `-d '{"command_text":"id","targeting":{"type":"all"}}'`,
    ),
  );
  t.true(
    runRequest(
      { ...EMPTY_FORM, text: 'id', place: 'all', timeout: '30s', expires: '5m' },
      null,
      'https://edge.example',
      NOW_MS,
    ).includes(
      `{"command_text":"id","targeting":{"type":"all"},"timeout":30000,"expired_at":"2026-01-15T10:05:00.000Z"}`,
    ),
  );
  for (const place of ['clusters', 'group', 'nodes', 'again'] as const)
    t.false(runRequest({ ...EMPTY_FORM, place }, null, 'https://edge.example', NOW_MS).includes('"all"'), place);
  const many = Array.from({ length: 1_000 }, (_, index) => `id-${index}`);
  t.true(
    runRequest({ ...EMPTY_FORM, place: 'again', again: 'x' }, many, 'https://edge.example', NOW_MS).length < 2_000,
  );
});

test('durations are as the command line takes them', (t) => {
  t.deepEqual(
    ['500ms', '30s', '5m', '2h', '1d', '90', '1.5h'].map(durationMsOf),
    [500, 30_000, 300_000, 7_200_000, 86_400_000, 90_000, 5_400_000],
  );
  t.deepEqual(['', '0', '-1s', 'soon', '5 minutes', '1e9d'].map(durationMsOf), [null, null, null, null, null, null]);
  t.deepEqual([30_000, 90_000, 3_600_000, 1].map(durationText), ['30s', '90s', '1h', '1ms']);
});

const SUMMARY = {
  total: 2,
  pending: 2,
  sent: 0,
  completed: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
  dropped: 0,
};
const COMMAND = { id: 'c', command_text: 'true', timeout: null, summary: SUMMARY } as CommandResource;

function brief(
  id: string,
  status: ExecutionBrief['status'] = 'pending',
  exitCode: number | null = null,
): ExecutionBrief {
  return { id, node_id: `node-of-${id}`, cluster_name: 'prod', status, exit_code: exitCode };
}

const snapshot = (page: number, pages: number, ...executions: readonly ExecutionBrief[]): CommandMessage => ({
  type: 'snapshot',
  page,
  pages,
  command: COMMAND,
  executions,
});

test('executions are as the feed tells them: a snapshot counts once it is whole, and only what changed is told', (t) => {
  const rows = new ExecutionRows();

  t.deepEqual(rows.apply(snapshot(1, 2, brief('a'))), { changed: [], gone: [] });
  t.is(rows.command, null);
  t.deepEqual(rows.apply(snapshot(2, 2, brief('b'))), { changed: [brief('a'), brief('b')], gone: [] });
  t.is(rows.command, COMMAND);
  t.deepEqual(
    rows.apply({ type: 'changed', summary: { ...SUMMARY, sent: 1 }, executions: [{ id: 'a', status: 'sent' }] }),
    { changed: [brief('a', 'sent')], gone: [] },
  );
  t.is(rows.summary?.sent, 1);
  // the connection was lost: what is the same is no news
  t.deepEqual(rows.apply(snapshot(1, 1, brief('a', 'completed', 0))), {
    changed: [brief('a', 'completed', 0)],
    gone: ['b'],
  });
  t.deepEqual([rows.apply({ type: 'removed' }).changed, rows.isRemoved], [[], true]);
});

test('of an earlier command it runs again where it ended, or did not succeed, and not where the node is gone', (t) => {
  const executions = [
    brief('good', 'completed', 0),
    brief('bad', 'completed', 1),
    brief('cancelled', 'cancelled', 143),
    brief('expired', 'expired'),
    brief('gone', 'dropped'),
    brief('open', 'sent'),
  ];

  const { ended, failed } = earlierOf(COMMAND, executions);

  t.deepEqual(
    ended,
    ['good', 'bad', 'cancelled', 'expired'].map((id) => `node-of-${id}`),
  );
  t.deepEqual(
    failed,
    ['bad', 'cancelled', 'expired'].map((id) => `node-of-${id}`),
  );
});
