/** Further admins beside one of a bench, on its database. */
import { freePort } from '../fleet/ports.ts';
import { startAdmin, type AdminPlace, type AdminProcess } from './admin.ts';

/** A place for one of another name. It owns what it is given. */
export async function placePeer(
  place: AdminPlace,
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<AdminPlace> {
  return { ...place, port: await freePort(), env: { ...place.env, ADMIN_NAME: name, ...env } };
}

/** Starts one; it is ready when this resolves. */
export async function startPeer(
  place: AdminPlace,
  name: string,
  env: Readonly<Record<string, string>> = {},
): Promise<AdminProcess> {
  return startAdmin(await placePeer(place, name, env));
}
