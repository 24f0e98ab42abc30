/** Admins, each with what it owns. */
import type { PeerAdminResource } from '../../../actors/resources/peer-admin.ts';
import { Ago } from '../../parts/ago.tsx';
import { toRow } from '../../parts/row-keys.ts';
import { addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';

const T = TEXTS.admins;

/** How an admin is: a colour and a word. */
export function AdminStatus({ status }: Pick<PeerAdminResource, 'status'>) {
  return <span class={`status ${status}`}>{T.statuses[status]}</span>;
}

/** All that are given, by name; each leads to its page. */
export function AdminsTable({ admins }: { readonly admins: readonly PeerAdminResource[] }) {
  return (
    <div class="scroll" role="region" aria-label={T.label} tabIndex={0} onKeyDown={toRow}>
      <table class="admins">
        <thead>
          <tr>
            {Object.entries(T.columns).map(([column, title]) => (
              <th key={column} scope="col" class={column}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {admins.map((admin) => (
            <tr key={admin.id}>
              <th scope="row">
                <a href={addressOf('admin', { id: admin.name })}>
                  <bdi>{admin.name}</bdi>
                </a>
              </th>
              <td>
                <AdminStatus status={admin.status} />
              </td>
              <td>{admin.status_since !== null && <Ago at={admin.status_since} />}</td>
              <td class="number">{admin.cluster_count.toLocaleString('en')}</td>
              <td class="number">{admin.node_count.toLocaleString('en')}</td>
              <td class="number">{admin.room.toLocaleString('en')}</td>
              <td>
                <bdi>{admin.version}</bdi>
              </td>
              <td>{admin.link !== null && T.links[admin.link.state]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
