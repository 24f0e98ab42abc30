/** A number of the overview, which leads to the list behind it. */

interface TileProps {
  /** Null: there is no such page. */
  readonly to: string | null;
  /** Null: it is not known yet. */
  readonly count: number | null;
  readonly name: string;
  /** A status, which colours it. */
  readonly kind?: string;
  readonly more?: string | undefined;
  /** There may be more: nobody counted further. */
  readonly isMore?: boolean;
}

/** One number. */
export function Tile({ to, count, name, kind = '', more, isMore = false }: TileProps) {
  const inside = (
    <>
      <span class="count">{count === null ? '–' : `${count.toLocaleString('en')}${isMore ? '+' : ''}`}</span>{' '}
      <span class="name">{name}</span>
      {more !== undefined && <span class="soft">{more}</span>}
    </>
  );
  return (
    <li>
      {to === null ? (
        <div class={`tile ${kind}`}>{inside}</div>
      ) : (
        <a class={`tile ${kind}`} href={to}>
          {inside}
        </a>
      )}
    </li>
  );
}
