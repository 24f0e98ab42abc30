/** How much of what waits goes into one transaction. */
import test from 'ava';
import { TARGET_NODES_MAX } from '../../../../api/inputs/targeting-input.ts';
import { EMPTY_SUMMARY } from '../../../../actors/command/state.ts';
import { commandResource } from '../../../../actors/command/transition.ts';
import type { HotChange } from '../../../../persistence/committer/hot-batch.ts';
import { idempotencyStatement } from '../../../../persistence/committer/idempotency-records.ts';
import { BATCH_BYTES_MAX, bytesOf, inTransactions } from '../../../../persistence/committer/units.ts';
import { createVault } from '../../../../persistence/vault.ts';
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

test('a create under an Idempotency-Key is counted with its answer, which is sent too, sealed', (t) => {
  const vault = createVault(Buffer.alloc(32, 7));
  const named = { type: 'nodes', node_ids: Array.from({ length: TARGET_NODES_MAX }, () => NODE) } as const;
  const script = 'echo "as long as a line of a script is"\n'.repeat(20_000);

  for (const command of [commandRecord({ targeting: named }), commandRecord({ text: script }), commandRecord()]) {
    const answer = commandResource(command, EMPTY_SUMMARY);
    const idempotencyRecord = { scope: 'create_command', key: 'a key', bodyHash: 'a hash', answer };
    const change: HotChange = {
      write: { kind: 'command-created', command, executions: [] },
      events: [],
      notices: [],
      idempotencyRecord,
    };
    const row = command.text.length + JSON.stringify(command.targeting).length;
    const sent = row + JSON.stringify(idempotencyStatement(vault, idempotencyRecord).values).length;
    t.true(bytesOf(change) >= sent && bytesOf(change) < sent * 1.1 + 1_000, `${bytesOf(change)} of ${sent}`);
  }
});
