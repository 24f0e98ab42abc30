/** What a page says whose console cannot be loaded. It stands by itself: all other texts come with the console. */
export const BOOT = 'The console could not be loaded: its admin is away, or is being upgraded. Trying again.';
