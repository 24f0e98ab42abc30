/** The way from the beginning of a list to all of it. */
import { listSearchOf } from '../../lists/query.ts';
import { addressOf } from '../../routes.ts';

/** A link to the list of this page, of this node alone; nothing where the list is empty. */
export function AllOf({
  page,
  node,
  count,
  all,
}: {
  readonly page: 'executions' | 'recordings';
  /** Its id. */
  readonly node: string;
  readonly count: number;
  readonly all: (count: number) => string;
}) {
  if (count === 0) return null;
  const search = listSearchOf({ filters: { node_id__in: node }, sort: '', page: 1 });
  return <a href={addressOf(page, { search })}>{all(count)}</a>;
}
