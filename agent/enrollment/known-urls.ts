/** Which admins an agent knows: those that an admin named last, and the one by which it got to one last. */
import { isFollowed, isSameAdmin } from '../session/session-options.ts';

/**
 * The `listed` URLs in their order. Where none of them is the one by which an admin was reached last, that one follows
 * them: whoever named the others may have been set up wrongly, and nothing else leads back. It goes as soon as one of
 * the others leads to an admin, and is left out at once where it is a plain one and all that are listed are encrypted:
 * the token of the node would go there in clear text.
 */
export function knownUrls(listed: readonly string[], reachedBy: string | undefined): readonly string[] {
  if (reachedBy === undefined || listed.some((url) => isSameAdmin(url, reachedBy))) return listed;
  const isAsSafe = URL.canParse(reachedBy) && listed.some((url) => URL.canParse(url) && isFollowed(url, reachedBy));
  return isAsSafe ? [...listed, reachedBy] : listed;
}
