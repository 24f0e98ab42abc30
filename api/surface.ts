/** The words for where a call comes in, whose key it shows, and what that reaches. */

/** Where a call came in. tRPC counts as the API. */
export type Surface = 'rest' | 'trpc' | 'mcp';

/** Whose key it was. `anonymous`: none was needed. */
export type Principal = 'master' | 'api' | 'metrics' | 'mcp' | 'proxy' | 'anonymous';

/** What a credential reaches. `public` needs none. */
export type Scope = 'api' | 'metrics' | 'public';
