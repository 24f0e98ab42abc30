/** What only admins are to know of a refusal is shown nowhere. */
import test from 'ava';
import { STALE_EPOCH } from '../../../actors/refusal.ts';
import { mountMcp } from '../../../api/mcp/mount.ts';
import { mountTrpc } from '../../../api/trpc/mount.ts';
import { ELSEWHERE } from '../../../supervisors/runtime/revival.ts';
import { KEYS, SOME_ID } from '../../support/api/fakes.ts';
import { currentClient } from '../../support/api/mcp-clients.ts';
import { serve } from '../../support/api/served.ts';
import { failure, httpClient } from '../../support/api/trpc-clients.ts';

for (const [name, refusal] of Object.entries({ ELSEWHERE, STALE_EPOCH })) {
  test(`that another admin owns a cluster (${name}) is told in words, and its mark stays inside, on every surface`, async (t) => {
    const served = await serve(t, {
      mounts: ({ feeds }, clock) => [mountTrpc(feeds, clock), mountMcp({ offersPublicTools: false, version: '7.8.9' })],
    });
    served.answer = () => ({ ok: false, refusal });
    const path = `/api/v1/nodes/${SOME_ID}`;

    const rest = await fetch(new URL(path, served.url), {
      method: 'DELETE',
      headers: { authorization: `Bearer ${KEYS.api}` },
    });
    const told = [
      JSON.stringify([...rest.headers]) + (await rest.text()),
      JSON.stringify(await failure(httpClient(served.url, KEYS.api).delete_node.mutate({ id: SOME_ID }))),
      JSON.stringify(await (await currentClient(t, served.url, KEYS.mcp)).call('delete_node', { id: SOME_ID })),
    ];

    t.true(refusal.notOwner);
    t.is(rest.status, 503);
    for (const text of told) {
      t.regex(text, /Another admin owns this cluster now/u);
      t.notRegex(text, /not_?owner/iu);
    }
  });
}
