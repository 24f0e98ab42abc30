/** The service itself: its admins, and what fails at the one that answers. */
import type { Live } from '../../live.ts';
import { Asked } from '../../parts/asked.tsx';
import { usePolled } from '../../poll.ts';
import { addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';
import { AdminsTable } from '../admins/table.tsx';

/** Admins that stand here by name. */
const ADMINS_MAX = 20;

const T = TEXTS.overview;

/** Admins with what they own. */
export function Admins({ live }: { readonly live: Live }) {
  const admins = usePolled(() => live.api.list_admins.query({ page_size: ADMINS_MAX }));
  const { data } = admins.value;
  return (
    <section aria-labelledby="admins">
      <h2 id="admins">
        <a href={addressOf('admins')}>{T.admins}</a>
      </h2>
      <Asked polled={admins.value} text={T.notAsked} />
      {data !== null && <AdminsTable admins={data.data} />}
    </section>
  );
}

/** What fails: brokers, relays and the VPN stand among its checks. */
export function Health({ live }: { readonly live: Live }) {
  const health = usePolled(() => live.api.check_admin_health.query({}));
  const { data } = health.value;
  const failed = data?.checks.filter(({ healthy }) => !healthy) ?? [];
  return (
    <section aria-labelledby="health">
      <h2 id="health">
        <a href={addressOf('health')}>{T.health}</a>
      </h2>
      <Asked polled={health.value} text={T.notAsked} />
      {data !== null && failed.length === 0 && <p class="well">{T.healthy(data.checks.length)}</p>}
      {failed.length > 0 && (
        <>
          <p class="ill">{T.unhealthy(failed.length, data?.checks.length ?? 0)}</p>
          <ul>
            {failed.map(({ name, error }) => (
              <li key={name}>
                <code>{name}</code> {error}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
