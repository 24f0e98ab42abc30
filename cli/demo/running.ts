/** What the demo started, and in which order it ends. */
import type { DemoHome } from './home.ts';
import type { RunningProgram } from './processes.ts';

/** All that runs. Whoever starts a program adds it at once, so that it is ended whatever comes. */
export class Running {
  readonly admins: RunningProgram[] = [];
  readonly agents: RunningProgram[] = [];
  readonly #home: DemoHome;
  readonly #ends: (() => Promise<void>)[] = [];
  #isEnding = false;

  constructor(home: DemoHome) {
    this.#home = home;
  }

  /** A function, so that it can be given away alone. */
  readonly addAdmin = (program: RunningProgram): void => this.#add(this.admins, program);

  /** A function, too. */
  readonly addAgent = (program: RunningProgram): void => this.#add(this.agents, program);

  /** The admins that were started have ended, and others are started in their place. */
  readonly dropAdmins = (): void => {
    this.admins.length = 0;
  };

  /** What is to be ended after all programs, the latest first. */
  addEnd(end: () => Promise<void>): void {
    if (this.#isEnding) void end();
    else this.#ends.push(end);
  }

  /** Whether there is anything to end. */
  isAny(): boolean {
    return this.admins.length + this.#ends.length > 0;
  }

  /** Agents first: an admin that goes away makes them look for another. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.agents.map((program) => program.stop()));
    await Promise.all(this.admins.map((program) => program.stop()));
    for (const end of this.#ends.toReversed()) await end();
    this.#home.forget();
  }

  /** One that was being started when Ctrl-C came ends at once. */
  #add(programs: RunningProgram[], program: RunningProgram): void {
    if (this.#isEnding) return void program.stop();
    programs.push(program);
    this.#home.remember([...this.admins, ...this.agents].map(({ pid }) => pid));
  }
}
