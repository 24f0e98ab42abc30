/** What a guide page is made of: data, so that a test can run what it says and one renderer shows it. */
import type { AnyOperation } from '../../operation.ts';
import type { SubsystemCheck } from '../../views/health.ts';

/** What the pages tell of the admin that serves them. */
export interface GuideFacts {
  readonly version: string;
  /** Where agents and people reach it, as its operator says: never what a request claims in its Host header. */
  readonly adminUrl: string;
  /** Domain of the names of nodes. */
  readonly domain: string;
  /** Ports of the proxies; null: this admin has none. */
  readonly proxyPorts: ProxyPorts | null;
  readonly operations: readonly AnyOperation[];
  /** Whether this admin serves the console. */
  readonly hasConsole: boolean;
  /** What the checks of this admin found just now, on pages that show it; null: nothing yet. */
  readonly checks: readonly SubsystemCheck[] | null;
}

/** Ports on which the admin's proxies listen. */
export interface ProxyPorts {
  readonly http: number;
  readonly socks5: number;
}

/** One page. `name` is what stands in the navigation, `lead` one or two sentences below the title. */
export interface GuidePage {
  readonly name: string;
  readonly title: string;
  readonly lead: string;
  readonly sections: readonly Section[];
}

/** A part of a page. Its id, by which it is linked, is made from its title. */
export interface Section {
  readonly title: string;
  readonly blocks: readonly Block[];
}

/**
 * A piece of a section. Texts may hold `code` and [links](/to); everything else in them is shown as it is.
 * `operations` lists those of the catalogue whose route is picked, so that the page never tells of one that is not
 * there; `scrapes` the routes that monitoring systems read; `state` says how the admin is.
 */
export type Block =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'list'; readonly items: readonly string[] }
  | { readonly kind: 'cards'; readonly cards: readonly Card[] }
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] }
  | {
      readonly kind: 'settings';
      readonly program: 'edge-admin' | 'edge-agent';
      readonly rows: readonly (readonly [name: string, fallback: string, meaning: string])[];
    }
  | { readonly kind: 'operations'; readonly picks: (path: string) => boolean }
  | { readonly kind: 'scrapes' }
  | { readonly kind: 'state' }
  | { readonly kind: 'events'; readonly subjects: readonly string[] }
  | { readonly kind: 'file'; readonly name: string; readonly content: string }
  | Shell;

/** A page that is linked with a sentence of what is there. */
export interface Card {
  readonly path: string;
  readonly name: string;
  readonly text: string;
}

/**
 * Commands that work when they are pasted, in the order of the page; test/system/pages/guide.test.ts pastes them.
 * A command that waits for a secret does so in its last line, so that it does not read what is pasted after it.
 */
export interface Shell {
  readonly kind: 'shell';
  readonly commands: string;
  /** Where they are typed. Default: your terminal. */
  readonly where?: Place;
  /** What appears then. `…` stands for anything, and so do ids and times. */
  readonly prints?: string;
  /**
   * They go on until Ctrl-C: `now` when what is printed comes by itself, `later` when something else must happen first.
   */
  readonly lasts?: 'now' | 'later';
  /** The secret that is asked for. */
  readonly asks?: string;
  /** Why no test runs them. Such a block says what it needs. */
  readonly untested?: string;
}

/** Whose terminal. */
export type Place = keyof typeof PLACES;

/** Terminals by what stands above them. */
export const PLACES = {
  here: 'Your terminal',
  another: 'Another terminal of yours',
  machine: 'On the machine',
  machine2: 'On a second machine',
  prometheus: 'Where Prometheus runs',
} as const;

/** The two lines with which every page begins: where the admin is, and a key that stays out of the history. */
export function knowsAdmin({ adminUrl }: GuideFacts): readonly Block[] {
  return [
    {
      kind: 'shell',
      commands: `export EDGE_URL=${shellWord(adminUrl)}\nread -rs EDGE_API_KEY && export EDGE_API_KEY`,
      asks: 'EDGE_API_KEY',
    },
    {
      kind: 'text',
      text: 'The second line waits for a key of this admin, `API_KEY` or `MASTER_KEY`: paste it and press Enter. It is not shown. Both lines are needed once in each terminal, of bash or zsh.',
    },
  ];
}

/** A word as a shell reads it, whatever is in it. */
export function shellWord(word: string): string {
  return /^[\w.,:/@%+-]+$/u.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
