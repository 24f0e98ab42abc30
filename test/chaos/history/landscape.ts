/** What clients know of the fleet, and share. */
import { Names } from './names.ts';

/** A cluster that stays, with a key that lets any number in, and nodes that stay. */
export interface Home {
  readonly cluster: string;
  readonly keyName: string;
  readonly blob: string;
  readonly nodes: readonly string[];
}

/** A node that moves about and is deleted. */
export interface Guest {
  readonly id: string;
  /** Where it is, as somebody was told last. */
  cluster: string;
  /** The last recovery key that somebody was told of. */
  recovery: string | null;
}

/** A command that somebody asked for. */
export interface AskedCommand {
  readonly mark: string;
  readonly cluster: string;
  /** Nodes that stay: each has an execution. Others may have one. */
  readonly must: readonly string[];
  readonly may: readonly string[];
  readonly key: string;
  readonly body: object;
  /** When it expires, as seconds since this machine booted; null: never. */
  readonly expiresAtS: number | null;
  /** The same in ms since the history began; null: never. */
  readonly expiresMs: number | null;
  readonly id: string | null;
  /** When it was answered, and where, as seconds since this machine booted. */
  readonly answeredS: number | null;
  readonly answeredAt: string | null;
  readonly isCancelled: boolean;
  readonly isDeleted: boolean;
}

/** Names of each kind at a time: few enough that six clients meet. */
const PLACES = { cluster: 4, group: 4, alias: 6, ssh_username: 6, enrollment_key: 4, webhook: 3 } as const;

/** Labels of nodes at a time. */
const LABELS = 3;

/** Times that a label is drawn before another takes its place. */
const LABEL_DRAWN_MAX = 40;

/** All that clients know. */
export class Landscape {
  readonly homes: readonly Home[];
  readonly guests = new Map<string, Guest>();
  readonly commands: AskedCommand[] = [];
  readonly names: Readonly<Record<keyof typeof PLACES, Names>>;
  /** Nobody creates or deletes one, so that admins come to rest and share them. */
  areClustersAtRest = false;
  #labelsDrawn = 0;

  constructor(homes: readonly Home[]) {
    this.homes = homes;
    const home = (place: number) => homes[place % homes.length] as Home;
    const nowhere = () => ({ scope: '', cluster: null, node: null });
    const inHome = (place: number) => ({ scope: home(place).cluster, cluster: home(place).cluster, node: null });
    const onNode = (place: number) => {
      const { cluster, nodes } = home(place);
      return { cluster, node: nodes[place % nodes.length] ?? null };
    };
    this.names = {
      cluster: new Names('cluster', PLACES.cluster, nowhere),
      group: new Names('group', PLACES.group, nowhere),
      webhook: new Names('webhook', PLACES.webhook, nowhere),
      enrollment_key: new Names('enrollment_key', PLACES.enrollment_key, inHome),
      alias: new Names('alias', PLACES.alias, (place) => ({ ...onNode(place), scope: home(place).cluster })),
      ssh_username: new Names('ssh_username', PLACES.ssh_username, (place) => ({
        ...onNode(place),
        scope: onNode(place).node ?? '',
      })),
    };
  }

  /** One of the homes, by a whole number from 0 on. */
  home(number: number): Home {
    return this.homes[number % this.homes.length] as Home;
  }

  /** One of the guests; null while there are none. */
  guest(number: number): Guest | null {
    const guests = [...this.guests.values()];
    return guests[number % Math.max(1, guests.length)] ?? null;
  }

  /** Any node, with the cluster in which it is or was. */
  node(number: number): { readonly id: string; readonly cluster: string } {
    const stay = this.homes.flatMap(({ cluster, nodes }) => nodes.map((id) => ({ id, cluster })));
    const all = [...stay, ...this.guests.values()];
    return all[number % all.length] as { readonly id: string; readonly cluster: string };
  }

  /** A label. */
  label(number: number): string {
    this.#labelsDrawn += 1;
    return `label-${number % LABELS}-${Math.floor(this.#labelsDrawn / (LABELS * LABEL_DRAWN_MAX))}`;
  }

  /** One of the last commands that somebody was told the id of; null: there is none. */
  command(number: number): (AskedCommand & { readonly id: string }) | null {
    const last = this.commands.filter(({ id, isDeleted }) => id !== null && !isDeleted).slice(-LAST_COMMANDS);
    const found = last[number % Math.max(1, last.length)];
    return found?.id == null ? null : { ...found, id: found.id };
  }

  /** Notes what became of a command. */
  note(mark: string, more: Partial<AskedCommand>): void {
    const place = this.commands.findIndex((command) => command.mark === mark);
    const known = this.commands[place];
    if (known !== undefined) this.commands[place] = { ...known, ...more };
  }
}

/** Commands that are read, cancelled and deleted: the last ones, in number. */
const LAST_COMMANDS = 12;
