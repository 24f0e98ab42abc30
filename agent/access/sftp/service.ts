/** Answers one client's requests, in their order. */
import { Accounts } from './accounts.ts';
import { setAttributes, setHandleAttributes } from './attribute-requests.ts';
import { Answers } from './answers.ts';
import { PACKET, SFTP_VERSION, STATUS } from './codes.ts';
import { makeDirectory, openDirectory, readDirectory, removeDirectory } from './directory-requests.ts';
import { extended, EXTENSIONS } from './extensions.ts';
import { close, open, read, statHandle, write } from './file-requests.ts';
import { Handles } from './handles.ts';
import { makeLink, readLink, remove, rename, resolvePath, stat, statLink } from './path-requests.ts';
import type { Respond } from './request.ts';
import { problemOf } from './status.ts';
import { Garbage, type FieldReader } from './wire.ts';

const RESPONSES: Readonly<Record<number, Respond>> = {
  [PACKET.open]: open,
  [PACKET.close]: close,
  [PACKET.read]: read,
  [PACKET.write]: write,
  [PACKET.fstat]: statHandle,
  [PACKET.opendir]: openDirectory,
  [PACKET.readdir]: readDirectory,
  [PACKET.mkdir]: makeDirectory,
  [PACKET.rmdir]: removeDirectory,
  [PACKET.stat]: stat,
  [PACKET.lstat]: statLink,
  [PACKET.remove]: remove,
  [PACKET.rename]: rename,
  [PACKET.symlink]: makeLink,
  [PACKET.readlink]: readLink,
  [PACKET.realpath]: resolvePath,
  [PACKET.setstat]: setAttributes,
  [PACKET.fsetstat]: setHandleAttributes,
  [PACKET.extended]: extended,
};

/** One client from its first packet on. */
export class Service {
  readonly #answers: Answers;
  readonly #handles = new Handles();
  readonly #accounts = new Accounts();
  #isGreeted = false;

  /** Answers go to `answers`, which the caller flushes. */
  constructor(answers: Answers) {
    this.#answers = answers;
  }

  /** Answers one packet with one packet. Throws Garbage. */
  answer(fields: FieldReader): void {
    const kind = fields.byte();
    const number = fields.number();
    if (!this.#isGreeted) return this.#greet(kind);
    const respond = RESPONSES[kind];
    if (respond === undefined)
      return this.#answers.status(number, STATUS.unsupported, `this server knows no request ${kind}`);
    const start = this.#answers.length;
    try {
      respond({ number, fields, answers: this.#answers, handles: this.#handles, accounts: this.#accounts });
      if (this.#answers.length === start) this.#answers.status(number, STATUS.ok, 'done');
    } catch (error) {
      if (error instanceof Garbage) throw error;
      const problem = problemOf(error);
      this.#answers.length = start; // an answer may have been begun
      this.#answers.status(number, problem.code, problem.message);
    }
  }

  /** Closes what is open. */
  close(): void {
    this.#handles.closeAll();
  }

  /**
   * The client's own version does not matter: there is only this one here, and a client that cannot speak it hangs up.
   */
  #greet(kind: number): void {
    if (kind !== PACKET.init) throw new Garbage(`a packet of kind ${kind} before the first greeting`);
    this.#isGreeted = true;
    this.#answers.begin(PACKET.version, SFTP_VERSION);
    for (const [name, { version }] of EXTENSIONS) {
      this.#answers.bytes(name);
      this.#answers.bytes(version);
    }
    this.#answers.end();
  }
}
