/** What goes wrong with one machine, in one line. Its status says whether the machine failed, or was not reached. */
import { EXIT, Problem } from '../problem.ts';

/** Numbers with which a server of SFTP says why. Source: draft-ietf-secsh-filexfer-02, 7. */
export const SFTP_STATUS = { eof: 1, noSuchFile: 2, permissionDenied: 3, noConnection: 6, connectionLost: 7 } as const;

/** What a machine cannot do. */
export function failed(line: string): Problem {
  return new Problem(line, EXIT.someFailed);
}

/** A machine that was not reached, or not to the end: what is there of a file is gone on from. */
export function unfinished(line: string): Problem {
  return new Problem(line, EXIT.someUnfinished);
}

/** Why something could not be done with a file of a machine. `doing` is what was tried, such as "write to". */
export function remoteProblem(error: unknown, doing: string, path: string): Problem {
  if (error instanceof Problem) return error;
  const { code, message } = error as { readonly code?: number | string; readonly message: string };
  if (code === SFTP_STATUS.noSuchFile)
    return failed(`there is no ${doing === 'read' ? path : `directory for ${path}`}`);
  if (code === SFTP_STATUS.permissionDenied) return failed(`no permission to ${doing} ${path}`);
  if (typeof code !== 'number' || code === SFTP_STATUS.noConnection || code === SFTP_STATUS.connectionLost)
    return unfinished('the connection was cut');
  return failed(isFull(error) ? `the disk is full: ${path} was not written` : `cannot ${doing} ${path}: ${message}`);
}

/** Whether a machine says that its disk is full. */
export function isFull(error: unknown): boolean {
  return error instanceof Error && /no space left|disk quota exceeded/iu.test(error.message);
}

/** Why something could not be done with a file here. */
export function localProblem(error: unknown, doing: string, path: string): Problem {
  if (error instanceof Problem) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return failed(`there is no file ${path} on this machine`);
    case 'EISDIR':
      return failed(`${path} on this machine is a directory`);
    case 'ENOTDIR':
    case 'EEXIST':
      return failed(`cannot ${doing} ${path} on this machine: a file is in the way`);
    case 'ENOSPC':
    case 'EDQUOT':
      return failed(`the disk of this machine is full: ${path} was not written`);
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return failed(`no permission to ${doing} ${path} on this machine`);
    case undefined:
    default:
      return failed(`cannot ${doing} ${path} on this machine: ${message}`);
  }
}
