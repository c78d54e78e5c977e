#!/usr/bin/env bash
# Build the image with docker if its daemon answers, else with buildah, which needs no daemon.
# BASE=debootstrap builds the base image from Debian packages, for machines without access to an image registry.
set -euo pipefail
cd "$(dirname "$0")/.."
tag=${IMAGE:-moorage:$(sed -n 's/^__version__ = "\(.*\)"/\1/p' operator/moorage/__init__.py)}
isolation=(--isolation chroot --storage-driver vfs)

make_base() {
  # Import Debian trixie with Python under a local name.
  local root
  root=$(mktemp -d)
  echo "building a base image with debootstrap (about a minute)"
  debootstrap --variant=minbase --include=python3,python3-pip,ca-certificates trixie "$root" >/dev/null
  rm -f "$root/usr/lib/python3."*/EXTERNALLY-MANAGED
  # Behind a private proxy, the build needs the host's certificates.
  if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
    cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  fi
  local container
  container=$(buildah --storage-driver vfs from scratch)
  buildah --storage-driver vfs copy --quiet "$container" "$root" / >/dev/null
  buildah --storage-driver vfs commit --quiet "$container" localhost/moorage-base >/dev/null
  buildah --storage-driver vfs rm "$container" >/dev/null
  rm -rf "$root"
}

arguments=()
if [ "${BASE:-}" = debootstrap ]; then
  buildah --storage-driver vfs inspect --type image localhost/moorage-base >/dev/null 2>&1 || make_base
  arguments+=(--build-arg BUILD_IMAGE=localhost/moorage-base --build-arg RUNTIME_IMAGE=localhost/moorage-base)
fi

if [ "${BASE:-}" != debootstrap ] && docker info >/dev/null 2>&1; then
  exec docker build --tag "$tag" "${arguments[@]}" .
elif command -v buildah >/dev/null; then
  exec buildah build "${isolation[@]}" --tag "$tag" "${arguments[@]}" .
else
  echo "make image needs a docker daemon or buildah: start docker, or run apt-get install buildah" >&2
  exit 1
fi
