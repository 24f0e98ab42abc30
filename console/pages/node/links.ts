/** Links to pages of other areas, where they are there. Pure. */
import { addressOf, PAGE_NAMES, placeOf, type PageName } from '../../routes.ts';

/** The address of the page of this name; null: there is no such page. */
export function pageLink(name: string, id = '', search = ''): string | null {
  const page = PAGE_NAMES.find((one: PageName) => one === name);
  return page === undefined || placeOf(page).path.includes(':id') !== (id !== '')
    ? null
    : addressOf(page, { id, search });
}
