/**
 * Where an admin is reached: by its settings, or, where these leave the port to the system, as it was found to listen.
 */

/** The settings that say so, under their names. */
export interface AdminUrlSettings {
  /** Empty: where it listens decides. */
  readonly ADMIN_URLS: readonly string[];
  readonly ADMIN_OWN_URL?: string | undefined;
  readonly ADMIN_PEER_URL?: string | undefined;
}

/** A URL that is this admin's alone. Shape: persistence/admins/registration.ts, OwnUrl. */
interface OwnUrl {
  readonly url: string;
  readonly setting: 'ADMIN_OWN_URL' | 'ADMIN_PEER_URL' | 'ADMIN_URLS';
}

/** The URLs of this admin and its peers. Those who tell them to others ask anew each time. */
export interface AdminUrls {
  /** In order. Empty until it listens, where the settings name none. */
  readonly all: () => readonly string[];
  /** Of this admin itself; empty as long as none is known. */
  readonly own: () => string;
  /** Where other admins reach it; empty until it listens. */
  readonly peer: () => string;
  /** Those that no other admin may have, also before it listens, and where each comes from. */
  readonly mine: () => readonly OwnUrl[];
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
    mine: () => [
      ...(own() === ''
        ? []
        : [{ url: own(), setting: ADMIN_OWN_URL === undefined ? 'ADMIN_URLS' : 'ADMIN_OWN_URL' } as const]),
      ...(ADMIN_PEER_URL === undefined ? [] : [{ url: ADMIN_PEER_URL, setting: 'ADMIN_PEER_URL' } as const]),
    ],
    listensAt(url) {
      const reached = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//127.0.0.1:');
      if (all.length === 0) all = [reached];
      isListening = true;
      return reached;
    },
  };
}
