/**
 * kubernetes-validate, which brings the schemas of what Kubernetes takes, of several versions: nothing is fetched to
 * use it.
 */
import { pythonPeer } from './python.ts';

/** Found as a Python that has it. */
export const kubernetesValidatePeer = pythonPeer('kubernetes-validate', 'kubernetes-validate==1.37.0');
