/** Version of what this service promises beside its REST routes. */

/**
 * Of the catalogues of events and of MCP tools, which change together and apart from the program. Source:
 * docs/events.md, versioning.
 */
export const CATALOGUE_VERSION = '0.2.0';
