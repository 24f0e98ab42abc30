/** All admins that share the database. */
import { Asked } from '../../parts/asked.tsx';
import { Elsewhere } from '../../parts/elsewhere.tsx';
import { Heading } from '../../parts/heading.tsx';
import type { PageProps } from '../../page-props.ts';
import { usePolled } from '../../poll.ts';
import { curlLine } from '../../shell-words.ts';
import { TEXTS } from '../../texts.ts';
import { AdminsTable } from './table.tsx';

/** Admins of one answer: as many as a page of a list has at most, and more than ever share a database. */
const ADMINS_MAX = 100;

const T = TEXTS.admins;

/** The list, and which clusters nobody owns. */
export function AdminsPage({ live }: PageProps) {
  const admins = usePolled(() => live.api.list_admins.query({ page_size: ADMINS_MAX }));
  const orphans = usePolled(() => live.api.list_orphaned_clusters.query({}));
  const ownerless = Object.keys(orphans.value.data ?? {});
  return (
    <>
      <Heading text={TEXTS.pages.admins} />
      <p class="lead">{T.lead}</p>
      <Elsewhere cli="edge admin ls" curl={curlLine(location.origin, '/admins')} />
      <Asked polled={admins.value} />
      {admins.value.data !== null && <AdminsTable admins={admins.value.data.data} />}
      {ownerless.length > 0 && (
        <section aria-labelledby="ownerless">
          <h2 id="ownerless">{T.ownerless}</h2>
          <p class="ill">{T.ownerlessLead}</p>
          <ul>
            {ownerless.map((cluster) => (
              <li key={cluster}>{cluster}</li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
