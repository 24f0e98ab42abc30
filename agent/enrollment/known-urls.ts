/** Which admins an agent knows: those that an admin named last, and the one by which it got to one last. */
import { isSameAdmin } from '../session/session-options.ts';

/**
 * The `listed` URLs in their order. Where none of them is the one by which an admin was reached last, that one follows
 * them: whoever named the others may have been set up wrongly, and nothing else leads back. It goes as soon as one of
 * the others leads to an admin. Until then it may be a plain one behind encrypted ones: the token of the node has been
 * that way just before.
 */
export function knownUrls(listed: readonly string[], reachedBy: string | undefined): readonly string[] {
  return reachedBy === undefined || listed.some((url) => isSameAdmin(url, reachedBy)) ? listed : [...listed, reachedBy];
}
