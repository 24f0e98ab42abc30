/** Where examples call the API: as the catalogue has it, so that none names a route that is not there. */
import type { AnyOperation } from '../../../operation.ts';
import { API_PREFIX } from '../../../rest/routes.ts';

/** The path of an operation, with `{id}` for its parameters. */
export type Route = (operation: string) => string;

/** The routes of a catalogue. A name that it does not have throws. */
export function routesOf(operations: readonly AnyOperation[]): Route {
  return (name) => {
    const path = operations.find((operation) => operation.name === name)?.rest?.path;
    if (path === undefined) throw new Error(`an example calls ${name}, which has no route`);
    return API_PREFIX + path.replaceAll(/:([a-z_]+)/gu, '{$1}');
  };
}
