/** Where the proxies of a service listen, as it says itself. */
import type { Api } from '../service/client.ts';
import type { ToldPorts } from './proxy.ts';

/** Asks. Undefined: an admin from before it told. */
export async function toldPortsOf(api: Api): Promise<ToldPorts | undefined> {
  return (await api.get_admin.query({})).proxies;
}
