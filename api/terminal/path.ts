/** Where programs come in for a terminal. Apart, since the OpenAPI document names it too. */
export const TERMINAL_PATH = '/api/v1/terminal';
