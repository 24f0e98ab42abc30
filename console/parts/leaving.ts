/** Signing out, from wherever that is asked for. */
import { signOut } from '../session.ts';
import { TEXTS } from '../texts.ts';
import { notify, settleNotices } from './notice.tsx';

/** What waits is done first: afterwards it could not be. */
export async function leave(): Promise<void> {
  settleNotices();
  const why = await signOut();
  if (why !== null) notify({ text: TEXTS.signIn.notOut(why), kind: 'failed' });
}
