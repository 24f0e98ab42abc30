/** python-tuf, the reference implementation of TUF and its client (ngclient). */
import { pythonPeer } from './python.ts';

/** Found as a Python that has it. */
export const tufPeer = pythonPeer('tuf', 'tuf==7.0.1');
