/** A walk: what a person types one after the other, and what the terminal shows, as a text that one can read. */
import type { Scope } from '../scope.ts';
import type { Installation } from '../releases/installation.ts';
import { openPlace, type Machine, type Place } from './place.ts';
import { Terminal } from './terminal.ts';
import { steadied } from './variable-text.ts';

/** A command is typed so often at most. */
const TRIES_MAX = 5;

/** Who walks, and where it begins. */
export interface Walker {
  /** The name of its file. */
  readonly name: string;
  readonly cluster: string;
  readonly machines: readonly Machine[];
  /** All that the person does. */
  walk(walk: Walk): Promise<void>;
}

/** One walk under way. */
export class Walk {
  readonly place: Place;
  readonly #terminal: Terminal;
  readonly #parts: string[] = [];
  #screens: string[] = [];
  #happened: { readonly what: string; readonly afterLines: number }[] = [];

  constructor(place: Place, terminal: Terminal) {
    this.place = place;
    this.#terminal = terminal;
  }

  /** A heading. */
  chapter(title: string): void {
    this.#parts.push(`# ${title}`);
  }

  /** Types a command and waits until it has ended. */
  async runs(command: string): Promise<void> {
    await this.begins(command);
    await this.ends();
  }

  /** The same, typed again until it shows this, as a person does whose machine is busy: the last one is kept. */
  async runsUntil(wanted: RegExp, command: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await this.runs(command);
      if (tries === TRIES_MAX || wanted.test(this.#parts.at(-1) ?? '')) return;
      this.#parts.pop();
    }
  }

  /** Types a command that asks something, or goes on until it is ended. */
  async begins(command: string): Promise<void> {
    this.#screens = [];
    this.#happened = [];
    await this.#terminal.begin(command);
  }

  /** Resolves when the command has said this. */
  async hears(wanted: RegExp): Promise<void> {
    await this.#terminal.says(wanted);
  }

  /** The same where something happens meanwhile, which stands before what is said after it. */
  async hearsOf(what: string, happens: () => Promise<unknown>, wanted: RegExp): Promise<void> {
    const [, ...before] = (await this.#terminal.says(/$/u)).split('\n');
    await happens();
    await this.#terminal.says(wanted);
    this.#happened.push({ what, afterLines: before.length });
  }

  /** Keeps the screen once it is this one, with what happened before. */
  async keepsScreen(what: string, wanted: RegExp): Promise<void> {
    await this.#terminal.shows(wanted);
    this.#screens.push(`(${what})\n${await this.#terminal.screen()}`);
  }

  async answers(line: string): Promise<void> {
    await this.#terminal.type(line);
  }

  async presses(key: string): Promise<void> {
    await this.#terminal.press(key);
  }

  /** Waits until the command has ended. Where screens of it were kept, what it leaves on the screen is none more. */
  async ends(): Promise<void> {
    const { shown, status } = await this.#terminal.ended();
    const [command = '', ...said] = shown.split('\n');
    for (const { what, afterLines } of this.#happened.toReversed()) said.splice(afterLines, 0, `(${what})`);
    const told = this.#screens.length > 0 ? this.#screens : said;
    this.#parts.push([command, ...told, ...(status === 0 ? [] : [`(exit ${status})`])].join('\n'));
  }

  /** All of it, with what differs between runs taken out. */
  text(): string {
    return `${steadied(this.#parts.join('\n\n'), this.place)}\n`;
  }
}

/** Walks, and answers the text of it. */
export async function walked(scope: Scope, installation: Installation, walker: Walker): Promise<string> {
  const place = await openPlace(scope, installation, walker);
  const terminal = await Terminal.open(scope, { env: place.env, directory: place.home });
  const walk = new Walk(place, terminal);
  try {
    await walker.walk(walk);
  } catch (error) {
    throw new Error(`the walk stopped: ${(error as Error).message}\nbefore that:\n${walk.text()}`, { cause: error });
  }
  return walk.text();
}
