/** What the page of a list shows, for a terminal. */
import type { ListPage, StateOf } from '../lists/parameters.ts';
import { listLinesOf } from '../lists/terminal.ts';
import { TEXTS } from '../texts.ts';
import { Elsewhere } from './elsewhere.tsx';

/** The lines of a list with the filters and the order of its address. */
export function ListElsewhere<Page extends ListPage>({
  page,
  state,
  id,
}: {
  readonly page: Page;
  readonly state: StateOf<Page>;
  /** What the rows are of, where the list is that of one thing. */
  readonly id?: string;
}) {
  const { cli, curl, isInOtherOrder } = listLinesOf(page, state, location.origin, id);
  return (
    <Elsewhere cli={cli} curl={curl}>
      {isInOtherOrder && <p class="soft">{TEXTS.elsewhere.otherOrder}</p>}
    </Elsewhere>
  );
}
