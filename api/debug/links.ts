/** Links of the debug page: what is looked at stands in their queries, and whose page it is. */
import type { ActorSearch } from '../../actors/inspection.ts';

/** What names the admin of a page in its links. */
export function adminOf({
  admin,
  isNamed,
}: {
  readonly admin: { readonly name: string };
  readonly isNamed: boolean;
}): Readonly<Record<string, string>> {
  return isNamed ? { admin: admin.name } : {};
}

/** The query of a page of actors. */
export function query({
  kind,
  text,
  order,
  page,
  refresh,
  named,
}: Pick<ActorSearch, 'kind' | 'text' | 'order'> & {
  readonly page: number;
  readonly refresh: number;
  readonly named: Readonly<Record<string, string>>;
}): string {
  return new URLSearchParams({
    ...named,
    ...(kind !== null && { kind }),
    ...(text !== '' && { q: text }),
    sort: order,
    page: String(page),
    ...(refresh !== 0 && { refresh: String(refresh) }),
  }).toString();
}
