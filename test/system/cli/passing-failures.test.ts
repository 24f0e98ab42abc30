/** `edge` at a service that was there, and is away for a moment afterwards. */
import test from 'ava';
import { idOf } from '../../support/api/rows.ts';
import { edge, notFound, service, stranger } from './foreign-service.ts';

const UPDATE = {
  id: idOf(0),
  status: 'pending',
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:00:00.000Z',
};
const PROGRESS = { waiting: 0, triggered: 1, failed: 0, skipped: 0, updated: 0, rolled_back: 0 };

test('an update that was created is followed to its end, though the service cannot tell of it at first', async (t) => {
  let reads = 0;
  const { url } = await service(t, {
    create_self_update_request: UPDATE,
    get_self_update_request: () => {
      reads += 1;
      if (reads === 1) throw new Error('The database is away.');
      return { ...UPDATE, status: 'completed', progress: PROGRESS };
    },
  });

  const { status, stderr } = await edge(stranger(t, url), 'update', 'create', '--all', '--wait');

  t.is(status, 0, stderr);
  t.regex(
    stderr,
    /^edge: how far it is cannot be read now \(.*The database is away\.\); trying again\nedge: 1 of 1 triggered/u,
  );
});

test('whoever created an update hears its id, though nothing more can be told of it', async (t) => {
  for (const failure of [new Error('The database is away.'), notFound()]) {
    const { url } = await service(t, {
      create_self_update_request: UPDATE,
      get_self_update_request: () => {
        throw failure;
      },
    });

    const { status, stdout, stderr } = await edge(stranger(t, url), 'update', 'create', '--all', '-o', 'json');

    t.is(status, 0, stderr);
    t.is((JSON.parse(stdout) as { readonly id: string }).id, UPDATE.id);
    t.is(stderr, `edge: edge update watch ${UPDATE.id} says how far it is\n`);
  }
});
