/** The member of this machine: opened where there is a VPN, tried again where the machine cannot, and closed. */
import type { Log } from '../../transport/net/log.ts';
import type { CreatedMember } from '../../transport/vpn/member/create-member.ts';
import type { Member } from '../../transport/vpn/member/member.ts';
import { stackOf } from '../log.ts';
import type { SessionClock } from '../session/ports.ts';

/** A machine that can have no interface now is tried again after this, in ms: somebody may have loaded a module. */
export const OPEN_AGAIN_MS = 600_000;

/** What it needs. */
export interface HeldMemberPorts {
  readonly clock: SessionClock;
  readonly log: Log;
  /** What comes before: a problem in one sentence; null: none. */
  readonly prepare: () => string | null;
  readonly create: () => Promise<CreatedMember>;
  /** It is there. */
  readonly opened: () => void;
  /** It goes. */
  readonly closes: () => void;
}

/** At most one at a time: an interface that goes has the name of the one that comes. */
export class HeldMember {
  readonly #ports: HeldMemberPorts;
  #member: Member | null = null;
  #problem: string | null = null;
  /** How it goes; null: it is wanted. */
  #end: { readonly isKept: boolean } | null = null;
  #isOver = false;
  #opening: Promise<void> | null = null;
  #closing: Promise<void> = Promise.resolve();
  #cancelAgain = (): void => {};

  constructor(ports: HeldMemberPorts) {
    this.#ports = ports;
  }

  /** Null: there is none, or none yet. */
  get member(): Member | null {
    return this.#member;
  }

  /** Why there can be none on this machine; null: nothing is known to be in the way. */
  get problem(): string | null {
    return this.#problem;
  }

  /** One is wanted from now on. Does nothing after the end. */
  open(): void {
    if (this.#isOver) return;
    this.#end = null;
    if (this.#member !== null || this.#opening !== null) return;
    this.#cancelAgain();
    const problem = this.#ports.prepare();
    if (problem !== null) return this.#failed(problem);
    this.#opening = this.#create()
      .catch((error: unknown) => this.#broken(error))
      .finally(() => {
        this.#opening = null;
      });
  }

  /** None is wanted. Never rejects. `isKept`: the interface stays for the next start, with its traffic. */
  close(end: { readonly isKept: boolean }): Promise<void> {
    this.#end = end;
    this.#cancelAgain();
    return this.#shut(end);
  }

  /** As `close`, also of one that is being opened, and for good. */
  async end(end: { readonly isKept: boolean }): Promise<void> {
    this.#isOver = true;
    this.#end = end;
    this.#cancelAgain();
    await this.#opening;
    await this.#shut(end);
  }

  async #create(): Promise<void> {
    await this.#closing;
    const created = await this.#ports.create();
    if (!created.ok) return this.#failed(created.problem);
    this.#problem = null;
    this.#member = created.member;
    if (this.#end !== null) return this.#shut(this.#end);
    return this.#ports.opened();
  }

  /** A fault of ours costs the VPN, and nothing else of the agent. */
  #broken(error: unknown): Promise<void> | void {
    this.#ports.log.error({ error, stack: stackOf(error) }, 'The VPN of this machine could not be begun');
    this.#failed((error as Error).message);
    return this.#member === null ? undefined : this.#shut({ isKept: false });
  }

  /** Said once, and again only when it is another one. */
  #failed(problem: string): void {
    if (this.#problem !== problem)
      this.#ports.log.warn({ problem }, 'This machine joins no VPN: everything else works');
    this.#problem = problem;
    if (this.#end === null) this.#cancelAgain = this.#ports.clock.after(OPEN_AGAIN_MS, () => this.open());
  }

  #shut(end: { readonly isKept: boolean }): Promise<void> {
    this.#ports.closes();
    const leaving = this.#member;
    this.#member = null;
    this.#closing = this.#closing
      .then(() => leaving?.close(end))
      .catch((error: unknown) =>
        this.#ports.log.warn(
          { problem: (error as Error).message },
          'The network interface of this machine could not be removed',
        ),
      );
    return this.#closing;
  }
}
