/** Calls of the console while there is no connection: what changes something is done now or never. */
import { createTRPCClient, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import test from 'ava';
import type { AppRouter } from '../../../api/trpc/router.ts';
import { sentNowOrNever } from '../../../console/calls.ts';
import { isNotSent } from '../../../console/failure.ts';

/** A client whose calls all end well where they are sent. `sent`: their names. */
function calling(isOpen: () => Promise<boolean>) {
  const sent: string[] = [];
  const answering: TRPCLink<AppRouter> =
    () =>
    ({ op: { path } }) =>
      observable((observer) => {
        sent.push(path);
        observer.next({ result: { type: 'data', data: {} } });
        observer.complete();
      });
  return { sent, api: createTRPCClient<AppRouter>({ links: [sentNowOrNever(isOpen, 'changes'), answering] }) };
}

test('without a connection nothing is changed, now or later, and what is only asked waits for it', async (t) => {
  const { sent, api } = calling(() => Promise.resolve(false));

  const error = await t.throwsAsync(api.delete_node.mutate({ id: 'one' }));
  await api.list_nodes.query({});

  t.true(isNotSent(error));
  t.is(error.message, 'There is no connection: nothing was done.');
  t.deepEqual(sent, ['list_nodes']);
});

test('what is asked for before the first connection is done once it is there, and not where it fails', async (t) => {
  const opens = [Promise.withResolvers<boolean>(), Promise.withResolvers<boolean>()] as const;
  const clients = opens.map(({ promise }) => calling(() => promise));
  const asked = clients.map(({ api }) => api.delete_node.mutate({ id: 'one' }));
  t.deepEqual(
    clients.map(({ sent }) => sent),
    [[], []],
  );

  opens[0].resolve(true);
  opens[1].resolve(false);
  await asked[0];

  t.true(isNotSent(await t.throwsAsync(asked[1] ?? Promise.resolve())));
  t.deepEqual(
    clients.map(({ sent }) => sent),
    [['delete_node'], []],
  );
});
