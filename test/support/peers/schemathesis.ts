/**
 * Schemathesis, which makes requests out of an OpenAPI document and holds the answers against it. From PyPI, into a
 * virtual environment of its own.
 */
import { pythonPeer } from './python.ts';

/** Found as a Python that has it: `python -m schemathesis.cli`. */
export const schemathesisPeer = pythonPeer('schemathesis', 'schemathesis==4.32.5');
