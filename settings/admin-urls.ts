/** Where an admin is reached: by its settings, or, where these leave the port to the system, as it was found to listen. */

/** The settings that say so, under their names. */
export interface AdminUrlSettings {
  /** Empty: where it listens decides. */
  readonly ADMIN_URLS: readonly string[];
  readonly ADMIN_OWN_URL?: string | undefined;
  readonly ADMIN_PEER_URL?: string | undefined;
}

/** The URLs of this admin and its peers. Those who tell them to others ask anew each time. */
export interface AdminUrls {
  /** In order. Empty until it listens, where the settings name none. */
  readonly all: () => readonly string[];
  /** Of this admin itself; empty as long as none is known. */
  readonly own: () => string;
  /** Where other admins reach it; empty until it listens. */
  readonly peer: () => string;
  /**
   * It listens here, which is its URL where the settings name none. Answers the URL by which this machine reaches it:
   * any address is a loopback one then.
   */
  listensAt(url: string): string;
}

/** Those of the settings at first. */
export function createAdminUrls({ ADMIN_URLS, ADMIN_OWN_URL, ADMIN_PEER_URL }: AdminUrlSettings): AdminUrls {
  let all = ADMIN_URLS;
  let isListening = false;
  const own = (): string => ADMIN_OWN_URL ?? all[0] ?? '';
  return {
    all: () => all,
    own,
    peer: () => (isListening ? (ADMIN_PEER_URL ?? own()) : ''),
    listensAt(url) {
      const reached = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//127.0.0.1:');
      if (all.length === 0) all = [reached];
      isListening = true;
      return reached;
    },
  };
}
