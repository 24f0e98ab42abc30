/** Which variables a client may set for its sessions. */

/** Variables that a client may set for one session, and the longest value, in characters. */
const VARIABLES_MAX = 64;
const VARIABLE_CHARS_MAX = 4_096;

/**
 * Language, terminal and what editors tell of them: nothing that changes which code is run. Source: AcceptEnv of
 * Debian's sshd, and COLORTERM.
 */
const ACCEPTED = /^(?:LANG|LANGUAGE|LC_[A-Z_]{1,32}|COLORTERM|TERM_PROGRAM|TERM_PROGRAM_VERSION|NO_COLOR)$/u;

/**
 * True when this may be set beside those that are set already. A path in LANGUAGE would be where glibc looks for
 * translations: also those of setpriv, which is still root.
 */
export function isVariableAccepted(name: string, value: string, set: Readonly<Record<string, string>>): boolean {
  if (name === 'LANGUAGE' && value.includes('/')) return false;
  return (
    ACCEPTED.test(name) &&
    value.length <= VARIABLE_CHARS_MAX &&
    !value.includes('\0') &&
    Object.keys(set).length < VARIABLES_MAX
  );
}
