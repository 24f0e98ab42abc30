/** The SFTP server becomes the account whose files it serves. */

/** An account of this machine. */
export interface BecomeAccount {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const WORD = /^(?<uid>\d+):(?<gid>\d+):(?<name>.+)$/u;

/** An account as the last argument of the program. */
export function accountWord({ uid, gid, name }: BecomeAccount): string {
  return `${uid}:${gid}:${name}`;
}

/**
 * Becomes the account of this argument, for good: user, group, and the groups that the system knows it to be in.
 * Without an account in the argument everything stays as it is. Throws when not all of it could be done: nothing may be
 * served then.
 */
export function become(word: string): void {
  const { uid, gid, name } = WORD.exec(word)?.groups ?? {};
  if (uid === undefined || gid === undefined || name === undefined) return;
  const { initgroups, setgid, setuid, getuid, geteuid, getgid, getegid } = process as NodeJS.Process & {
    initgroups?: (user: string, group: number) => void;
  }; // which the types lack
  if (!initgroups || !setgid || !setuid || !getuid || !geteuid || !getgid || !getegid)
    throw new Error('this system has no accounts to become');
  initgroups(name, Number(gid));
  setgid(Number(gid));
  setuid(Number(uid));
  if (getuid() !== Number(uid) || geteuid() !== Number(uid) || getgid() !== Number(gid) || getegid() !== Number(gid))
    throw new Error(`could not become ${name}`);
}
