/**
 * How versions of agents are ordered: by their numbers, and a pre-release before its release, as Semantic Versioning
 * says (https://semver.org/#spec-item-11). Missing numbers are zero, a leading `v` and what follows `+` count for
 * nothing. A version becomes a text whose order by code points is that order; `version_order` of the database makes the
 * same text, and a test holds the two equal. Pure.
 */

/** The text to compare. Any version has one, also one that is no semantic version. */
export function versionOrder(version: string): string {
  const bare = (version.split('+', 1)[0] ?? '').replace(/^[vV]/u, '');
  const dash = bare.indexOf('-');
  const release = (dash < 0 ? bare : bare.slice(0, dash)).replace(/(?:\.0+)+$/u, '');
  const numbers = release.split('.').map(ordered).join(' ');
  return dash < 0
    ? `${numbers}${RELEASED}`
    : `${numbers}${PRE_RELEASE}${bare
        .slice(dash + 1)
        .split('.')
        .map(ordered)
        .join(' ')}`;
}

/** Behind the numbers: both come before the space between numbers, so that 1 comes before 1.1. */
const PRE_RELEASE = '\u0001';
const RELEASED = '\u0002';

/** A number by the count of its digits and then by these, before any other text. */
function ordered(identifier: string): string {
  if (!/^\d+$/u.test(identifier)) return `~${identifier}`;
  const digits = identifier.replace(/^0+(?=\d)/u, '');
  return `${String(digits.length).padStart(2, '0')}${digits}`;
}
