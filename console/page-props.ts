/** What a page is given. */
import type { Fleet } from './fleet/feed.ts';
import type { Live } from './live.ts';
import type { Submissions } from './run/submission.ts';
import type { Me } from './session.ts';

/** What every page gets. A page takes what it needs. */
export interface PageProps {
  readonly live: Live;
  readonly fleet: Fleet;
  readonly submissions: Submissions;
  readonly me: Me;
  /** What stands for `:id` in its address; empty: nothing does. */
  readonly id: string;
  /** The query of its address: empty, or with its `?`. */
  readonly search: string;
}
