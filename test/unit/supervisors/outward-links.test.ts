/** The links of actors, before and after they are connected. */
import test from 'ava';
import { createOutwardLinks } from '../../../supervisors/outward-links.ts';
import type { ClusterId, NodeId, SessionId } from '../../../transport/protocol/ids.ts';
import type { GatewayVpn } from '../../../actors/vpn/effects.ts';
import { recordedSender, recordedSessions } from '../../support/recorded-links.ts';

const SESSION = 1 as SessionId;
const NODE = 'node' as NodeId;
const CLUSTER = 'cluster' as ClusterId;

test('what an actor does goes where the links were connected to', (t) => {
  const [sessions, webhookSender, vpns] = [recordedSessions(), recordedSender(), [] as GatewayVpn[]];
  const supplied: string[] = [];
  const webhookSupply = {
    next: () => Promise.resolve({ deliveries: [], more: false }),
    stored: (webhook: string, cursor: string) => void supplied.push(`${webhook} ${cursor}`),
    ended: (webhook: string) => void supplied.push(webhook),
  };
  const links = createOutwardLinks();
  const vpn = {} as GatewayVpn;

  links.connect({ sessions, webhookSender, webhookSupply, gateway: { become: (one) => void vpns.push(one) } });
  links.sessions.send(SESSION, { type: 'pong' }, CLUSTER);
  links.sessions.hangUp(SESSION, 4001, '');
  links.sessions.renew(SESSION, CLUSTER);
  links.sessions.hangUpNode(NODE, 4001, '');
  links.gateway.become(vpn);
  links.webhookSender.cut('webhook');
  links.webhookSupply.stored('webhook', '1-1');
  links.webhookSupply.ended('webhook');

  t.deepEqual(sessions.frames, [{ session: SESSION, frame: { type: 'pong' }, cluster: CLUSTER }]);
  t.deepEqual(sessions.hungUp, [
    { session: SESSION, node: null, code: 4001 },
    { session: SESSION, node: null, code: 4010 },
    { session: null, node: NODE, code: 4001 },
  ]);
  t.deepEqual([vpns, webhookSender.cuts], [[vpn], ['webhook']]);
  t.deepEqual(supplied, ['webhook 1-1', 'webhook']);
});

test('whoever reaches out before they are connected has found a bug', (t) => {
  t.throws(() => createOutwardLinks().webhookSender.cut('webhook'), { message: /before the links were connected/u });
});
