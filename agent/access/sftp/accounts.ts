/**
 * Names of users and groups. Only of those in the machine's own files: asking a directory service would take a program
 * for each.
 */
import { readFileSync } from 'node:fs';

/** A line of /etc/passwd. */
export interface Account {
  readonly name: string;
  readonly home: string;
}

/** Reads each file once, when it is first asked: most clients never do. */
export class Accounts {
  readonly #passwd: string;
  readonly #group: string;
  #users: ReadonlyMap<number, Account> | null = null;
  #groups: ReadonlyMap<number, string> | null = null;

  constructor(passwd = '/etc/passwd', group = '/etc/group') {
    this.#passwd = passwd;
    this.#group = group;
  }

  /** The name of a user, or undefined. */
  userName(uid: number): string | undefined {
    return this.#allUsers().get(uid)?.name;
  }

  /** The name of a group, or undefined. */
  groupName(gid: number): string | undefined {
    this.#groups ??= new Map(
      lines(this.#group)
        .map(([name = '', , gidText]) => [Number(gidText), name] as const)
        .toReversed(),
    );
    return this.#groups.get(gid);
  }

  /** The home directory of a user by name, or undefined. */
  homeOf(name: string): string | undefined {
    return [...this.#allUsers().values()].find((account) => account.name === name)?.home;
  }

  /** Of two lines with one number the first counts, as for the system. */
  #allUsers(): ReadonlyMap<number, Account> {
    this.#users ??= new Map(
      lines(this.#passwd)
        .map(([name = '', , uid, , , home = '']) => [Number(uid), { name, home }] as const)
        .toReversed(),
    );
    return this.#users;
  }
}

function lines(path: string): string[][] {
  try {
    return readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => line.split(':'));
  } catch {
    return []; // a machine without it: numbers stand for names
  }
}
