/** Metrics of this machine's WireGuard interfaces, under the names of the common exporter, without addresses of the VPN (R3). */
import { Exposition } from '../../transport/exposition/exposition.ts';

/** The metrics of WireGuard as text; without an interface there are none. */
export async function wireguardMetrics(): Promise<string> {
  return new Exposition().single('wireguard_up', 'gauge', 'Whether there is an interface.', 0).toString();
}
