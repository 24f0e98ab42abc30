/** The service itself: its admins, and what fails at the one that answers. */
import type { OverviewResource } from '../../../actors/resources/overview.ts';
import type { Live } from '../../live.ts';
import { Asked } from '../../parts/asked.tsx';
import { usePolled, type Polled } from '../../poll.ts';
import { addressOf } from '../../routes.ts';
import { TEXTS } from '../../texts.ts';
import { AdminsTable } from '../admins/table.tsx';

const T = TEXTS.overview;

/** Admins with what they own. */
export function Admins({ polled }: { readonly polled: Polled<OverviewResource> }) {
  const { data } = polled;
  return (
    <section aria-labelledby="admins">
      <h2 id="admins">
        <a href={addressOf('admins')}>{T.admins}</a>
      </h2>
      <Asked polled={polled} text={T.notAsked} />
      {data?.admins === null && <p class="soft">{T.notCounted}</p>}
      {data?.admins != null && <AdminsTable admins={data.admins} />}
    </section>
  );
}

/** What fails at the admin that answers; what others say of theirs stands among the troubles. */
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
          <p>
            <a class="ill" href={addressOf('health')}>
              {T.unhealthy(failed.length, data?.checks.length ?? 0)}
            </a>
          </p>
          <ul>
            {failed.map(({ name, error }) => (
              <li key={name}>
                <a href={addressOf('health')}>
                  <code>{name}</code>
                </a>{' '}
                {error}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
