/** What the sign-in and the list of sessions say. */

/** By where they stand. */
export const SIGN_IN = {
  signIn: {
    lead: 'Show MASTER_KEY or API_KEY of this service once. It is exchanged for a session and not kept by this page.',
    key: 'Key',
    submit: 'Sign in',
    checking: 'Signing in',
    where: 'An admin that was given no key made one: its log says in which file.',
    over: 'Your session is over: it was unused for half an hour, there for twelve hours, ended by somebody, or its key is no key any more.',
    out: 'You are signed out.',
    notOut: (why: string) => `You may still be signed in. ${why}`,
    empty: 'Type or paste a key.',
    wrong: 'This is no key of this service.',
    unreached: 'The admin does not answer. Try again.',
    away: 'The admin or its database does not answer, so it is not known whether you are signed in. It is asked again every few seconds.',
    throttled:
      'The admin takes no more questions from your address for now, so it is not known whether you are signed in. It is asked again every few seconds.',
  },
  sessions: {
    lead: 'Who is signed in to the console, at every admin. One that is ended is cut within a second.',
    columns: { key: 'Key', address: 'From', browser: 'Browser', since: 'Signed in', used: 'Last used', end: 'End' },
    mine: 'this one',
    end: 'End',
    ends: (key: string) => `Whoever is there, with the ${key} key, has to show it again.`,
    ended: (address: string) => `The session from ${address} has ended.`,
    notEnded: 'It could not be ended: the admin did not answer.',
    endOf: (address: string) => `End the session from ${address}`,
  },
} as const;
