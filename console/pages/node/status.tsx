/** How a node is, why, since when, and what that rests on. */
import type { NodeResource } from '../../../actors/resources/node.ts';
import { Ago } from '../../parts/ago.tsx';
import { durationOf } from '../../quantities.ts';
import { NODE } from '../../texts/node.ts';

const T = NODE.status;

/** The evidence behind the status. */
export function StatusDetails({ node }: { readonly node: NodeResource }) {
  const evidence = node.status_evidence;
  return (
    <section aria-labelledby="status" class={`panel ${node.status}`}>
      <h2 id="status">{T.title}</h2>
      <p class="why">
        <bdi>{node.status_reason ?? T.healthy}</bdi>
      </p>
      <dl class="facts">
        <div>
          <dt>{T.seen}</dt>
          <dd>{node.last_seen_at === null ? T.never : <Ago at={node.last_seen_at} />}</dd>
        </div>
        {evidence !== null && (
          <>
            <div>
              <dt>{T.session}</dt>
              <dd>{evidence.session === null ? T.noSession : <Ago at={evidence.session.connected_at} />}</dd>
            </div>
            <div>
              <dt>{T.report}</dt>
              <dd>{evidence.last_report_at === null ? T.never : <Ago at={evidence.last_report_at} />}</dd>
            </div>
            <div>
              <dt>{T.vpn}</dt>
              <dd>
                <VpnPath vpn={evidence.vpn} />
              </dd>
            </div>
          </>
        )}
      </dl>
      {evidence !== null && evidence.services.length > 0 && (
        <>
          <h3>{T.services}</h3>
          <ul>
            {evidence.services.map(({ name, problem }) => (
              <li key={name}>
                <code>
                  <bdi>{name}</bdi>
                </code>{' '}
                <bdi>{problem}</bdi>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

type Vpn = NonNullable<NodeResource['status_evidence']>['vpn'];

/** The way to the gateway of its cluster, as it was when the status was observed. */
function VpnPath({ vpn }: { readonly vpn: Vpn }) {
  if (vpn === null) return <>{T.noVpn}</>;
  const { path, handshake_age_ms: ageMs } = vpn;
  const handshake = ageMs === null ? T.noHandshake : T.handshake(durationOf(ageMs / 1_000));
  return (
    <>
      {T.path[path]}, {handshake}
    </>
  );
}
