/** Signing out, from wherever that is asked for. */
import { signOut } from '../session.ts';
import { settleNotices } from './notice.tsx';

/** What waits is done first: afterwards it could not be. */
export function leave(): void {
  settleNotices();
  void signOut();
}
