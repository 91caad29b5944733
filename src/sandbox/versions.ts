/** A Minecraft release and its protocol number in handshakes. */
export interface GameVersion {
  name: string;
  protocol: number;
}

/**
 * The releases by protocol number. They are written out because importing minecraft-data costs 30 MB and 100 ms; a test
 * compares the two. Releases with the same protocol number share its data, which must be found by number: by name,
 * 1.21.7 would silently become 1.21. Releases without their own data (1.14.2, 1.9.1) are left out, because
 * minecraft-data returns another protocol's data for them.
 */
const RELEASES_BY_PROTOCOL: readonly [protocol: number, ...names: string[]][] = [
  [775, '26.1.2', '26.1.1', '26.1'],
  [774, '1.21.11'],
  [773, '1.21.10', '1.21.9'],
  [772, '1.21.8', '1.21.7'],
  [771, '1.21.6'],
  [770, '1.21.5'],
  [769, '1.21.4'],
  [768, '1.21.3', '1.21.2'],
  [767, '1.21.1', '1.21'],
  [766, '1.20.6', '1.20.5'],
  [765, '1.20.4', '1.20.3'],
  [764, '1.20.2'],
  [763, '1.20.1', '1.20'],
  [762, '1.19.4'],
  [761, '1.19.3'],
  [760, '1.19.2', '1.19.1'],
  [759, '1.19'],
  [758, '1.18.2'],
  [757, '1.18.1', '1.18'],
  [756, '1.17.1'],
  [755, '1.17'],
  [754, '1.16.5', '1.16.4'],
  [753, '1.16.3'],
  [751, '1.16.2'],
  [736, '1.16.1'],
  [735, '1.16'],
  [578, '1.15.2'],
  [575, '1.15.1'],
  [573, '1.15'],
  [498, '1.14.4'],
  [490, '1.14.3'],
  [480, '1.14.1'],
  [477, '1.14'],
  [404, '1.13.2'],
  [401, '1.13.1'],
  [393, '1.13'],
  [340, '1.12.2'],
  [338, '1.12.1'],
  [335, '1.12'],
  [316, '1.11.2', '1.11.1'],
  [315, '1.11'],
  [210, '1.10.2', '1.10.1', '1.10'],
  [110, '1.9.4', '1.9.3'],
  [109, '1.9.2'],
  [107, '1.9'],
  [47, '1.8.9', '1.8.8'],
];

const versions: readonly GameVersion[] = RELEASES_BY_PROTOCOL.flatMap(([protocol, ...names]) =>
  names.map((name) => ({ name, protocol })),
);

/** Returns the Minecraft releases that the sandbox core supports, newest first. Cheap to import and to call. */
export function sandboxVersions(): string[] {
  return versions.map(({ name }) => name);
}

/**
 * Returns the release with this name; `LATEST` or '' means the newest. Undefined if the sandbox core does not support
 * it.
 */
export function findVersion(name: string): GameVersion | undefined {
  if (name === '' || name.toUpperCase() === 'LATEST') return versions[0];
  return versions.find((version) => version.name === name);
}
