/** The name of an admin as it has it wherever one is shown. */

/**
 * `<name>@<host>`, the host being that of the URL under which agents and the other admins reach it. Source:
 * docs/api.md.
 */
export function erlangNodeName({ name, url }: { readonly name: string; readonly url: string }): string {
  return `${name}@${URL.canParse(url) ? new URL(url).hostname : 'localhost'}`;
}
