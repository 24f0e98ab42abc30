/** How much of what waits goes into one transaction. */
import test from 'ava';
import { TARGET_NODES_MAX } from '../../../../api/inputs/targeting-input.ts';
import type { HotChange } from '../../../../persistence/committer/hot-batch.ts';
import { BATCH_BYTES_MAX, bytesOf, inTransactions } from '../../../../persistence/committer/units.ts';
import { commandRecord, NODE } from '../../../support/actors.ts';

test('commands that name as many nodes as a command may, or as long filters, are counted as long as they are sent', (t) => {
  const named = { type: 'nodes', node_ids: Array.from({ length: TARGET_NODES_MAX }, () => NODE) } as const;
  const filtered = { type: 'all', node_filters: { cluster_name__in: [NODE.repeat(TARGET_NODES_MAX)] } } as const;

  for (const targeting of [named, filtered]) {
    const change: HotChange = {
      write: { kind: 'command-created', command: commandRecord({ targeting }), executions: [] },
      events: [],
      notices: [],
    };
    const sent = JSON.stringify(targeting).length;
    t.true(bytesOf(change) >= sent && bytesOf(change) < sent + 1_000, `${bytesOf(change)} of ${sent}`);
    const parts = inTransactions(Array.from({ length: 100 }, () => change));
    t.is(parts[0]?.changes.length, Math.floor(BATCH_BYTES_MAX / bytesOf(change)));
  }
});
