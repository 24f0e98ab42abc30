/** What stops the agent: said in one line, without a stack. */

/** Exit statuses of the program. 2 as usual for usage errors. */
export const EXIT_STATUS = { ok: 0, failed: 1, badSetting: 2, refused: 3, revoked: 4 } as const;
export type ExitStatus = (typeof EXIT_STATUS)[keyof typeof EXIT_STATUS];

/** An expected failure that ends the agent. `message` says what is wrong and what to do, and holds no secret. */
export class AgentProblem extends Error {
  readonly status: ExitStatus;

  constructor(message: string, status: ExitStatus) {
    super(message);
    this.status = status;
  }
}

/** Whether no further file can be opened now. What was looked for may be there: it is not known, until a later look. */
export function isOutOfFiles(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE';
}

/** What a failed system call means to an operator. */
export function systemProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC') return 'the disk is full';
  if (code === 'EACCES' || code === 'EPERM') return 'no permission';
  if (code === 'EROFS') return 'the file system is read-only';
  if (code === 'ENOTDIR' || code === 'EEXIST') return 'a file is in the way';
  return message;
}

/**
 * What a failed connection means to an operator. An AggregateError (several addresses tried) has no message of its own.
 */
export function networkProblem(error: unknown): string {
  const first = (error as { errors?: Error[] }).errors?.[0] ?? (error as Error);
  const { code } = first as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED') return 'connection refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name cannot be resolved';
  return TLS_PROBLEMS.find(([codes]) => codes.test(code ?? ''))?.[1](code ?? '') ?? first.message;
}

/** What keeps TLS from coming about, by the codes that Node tells. Source: node:tls, OpenSSL. */
const TLS_PROBLEMS: readonly (readonly [codes: RegExp, problem: (code: string) => string])[] = [
  [
    /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/u,
    (code) => `its certificate is not valid today (${code}): renew it, or set the clock of this machine`,
  ],
  [/^ERR_TLS_CERT_ALTNAME_INVALID$/u, () => 'its certificate is of another name than its URL'],
  [
    /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|CERT_\w+)$/u,
    (code) =>
      `its certificate is not trusted here (${code}): NODE_EXTRA_CA_CERTS should name the file of its authority`,
  ],
  [/^(?:ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO)$/u, () => 'it does not speak TLS'],
];
