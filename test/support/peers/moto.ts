/** moto, which speaks the protocols of SNS, SQS and IAM. */
import { pythonPeer } from './python.ts';

/** Found as a Python that has it: `python -m moto.server`. */
export const motoPeer = pythonPeer('moto', 'moto[server]==5.2.5');
